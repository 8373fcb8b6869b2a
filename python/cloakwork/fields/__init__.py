"""Prime fields and elliptic curves: the dtypes of their elements and points, by name.

>>> import cloakwork as cw
>>> cw.fields.babybear is cw.babybear
True
"""

from cloakwork.fields.dtypes import *  # noqa: F403 (the generated list of them)
from cloakwork.fields.dtypes import __all__ as __all__
