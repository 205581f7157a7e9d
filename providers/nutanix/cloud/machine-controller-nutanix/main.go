// Command machine-controller-nutanix runs the machines of machine.openshift.io on Nutanix.
package main

import (
	"github.com/millwright-dev/millwright/providers/nutanix/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
