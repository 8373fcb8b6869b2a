"""Results of benchmarks: rows, files of rows, and the comparison of two builds.

rows     one figure with its samples; benchmarks record theirs here
files    results as JSON: rows, with their build and machine
compare  two builds side by side, slower rows marked
against  cases of two builds, measured in turns in one run
"""
