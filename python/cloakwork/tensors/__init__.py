"""Tensors: conversion from other libraries' arrays, indexing, printing."""
