"""Compiling models to encrypted programs: `fhe.compile` and `fhe.load_model`.

importing/        an ONNX model, a scikit-learn estimator or a torch module becomes a Graph
graph.py          the Graph: affine maps, products and functions of one variable
"""
