// The algorithms of this family.
#ifndef CLOAKWORK_KERNELS_CONTENTS_KERNELS_H_
#define CLOAKWORK_KERNELS_CONTENTS_KERNELS_H_

#include "kernels/contents/elements.h"
#include "kernels/contents/together.h"

#endif  // CLOAKWORK_KERNELS_CONTENTS_KERNELS_H_
