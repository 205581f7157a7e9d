module github.com/millwright-dev/millwright/providers/metal3/cloud

go 1.26.0

require (
	github.com/metal3-io/baremetal-operator/apis v0.9.0
	github.com/millwright-dev/millwright v0.0.0
	github.com/millwright-dev/millwright/dev/clouds v0.0.0
	github.com/millwright-dev/millwright/dev/clouds/metal3 v0.0.0-00010101000000-000000000000
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
	sigs.k8s.io/yaml v1.6.0
)

replace (
	github.com/millwright-dev/millwright => ../../..
	github.com/millwright-dev/millwright/dev/clouds => ../../../dev/clouds
	github.com/millwright-dev/millwright/dev/clouds/metal3 => ../../../dev/clouds/metal3
)
