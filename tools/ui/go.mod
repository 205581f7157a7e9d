module github.com/millwright-dev/millwright/tools/ui

go 1.26.0

require github.com/evanw/esbuild v0.28.2

require golang.org/x/sys v0.47.0 // indirect
