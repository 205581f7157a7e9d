module github.com/millwright-dev/millwright/dev/clouds

go 1.26.0

require (
	golang.org/x/sys v0.47.0
	sigs.k8s.io/yaml v1.6.0
)

require go.yaml.in/yaml/v2 v2.4.2 // indirect
