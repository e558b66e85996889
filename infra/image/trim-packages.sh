#!/bin/sh
# Takes from node_modules what no program reads when it runs; it is half of it.
set -eu
cd "$1"
# npm takes it for a package that runs: it is an optional peer of one.
rm -rf typescript @typescript
# Types, source maps, manuals, and the binaries of another runtime (Bare).
find . -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \
  -o -iname 'readme*.md' -o -iname 'changelog*.md' -o -name '*.bare' \) -delete
# Folders at the top of a package.
find . -regextype posix-extended -type d \
  -regex '(.*/node_modules|\.)/(@[^/]+/)?[^/]+/(tests?|docs|examples?|benchmarks?|\.github)' \
  -prune -exec rm -rf {} +
