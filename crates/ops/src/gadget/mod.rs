//! Empty until its ops are declared.
