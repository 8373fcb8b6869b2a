"""Values as plaintexts: slots, their order, and the polynomials that hold them."""
