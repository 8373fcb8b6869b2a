"""What benchmarks measured: rows, files of rows, and the comparison of two builds.

rows     one figure with its samples; benchmarks record theirs here
files    results as JSON: rows, the build and the machine that they are of
compare  two builds side by side, what is slower marked
against  cases of two builds, measured in turns in one run
"""
