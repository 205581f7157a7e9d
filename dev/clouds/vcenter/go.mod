module github.com/millwright-dev/millwright/dev/clouds/vcenter

go 1.26.0

require (
	github.com/millwright-dev/millwright/dev/clouds v0.0.0
	github.com/vmware/govmomi v0.55.0
)

require github.com/google/uuid v1.6.0

require (
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

replace github.com/millwright-dev/millwright/dev/clouds => ..
