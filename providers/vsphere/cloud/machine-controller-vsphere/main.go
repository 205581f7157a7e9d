// Command machine-controller-vsphere keeps machines on VMware vSphere as they are declared, in both APIs.
package main

import (
	"github.com/millwright-dev/millwright/providers/vsphere/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
