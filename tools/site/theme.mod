// The theme of the site has no Go package, so that `go mod tidy` would drop it: hack/site asks for it with -modfile.
module github.com/millwright-dev/millwright/tools/site/theme

go 1.26.0

require github.com/imfing/hextra v0.9.7
