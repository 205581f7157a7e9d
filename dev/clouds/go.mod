module github.com/millwright-dev/millwright/dev/clouds

go 1.26.0
