// Command machine-controller-vsphere runs machines on VMware vSphere, in both APIs.
package main

import (
	"github.com/millwright-dev/millwright/providers/vsphere/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
