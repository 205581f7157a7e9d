// Command machine-controller-kubevirt manages machines on KubeVirt.
package main

import (
	"github.com/millwright-dev/millwright/providers/kubevirt/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
