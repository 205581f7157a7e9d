// Command machine-controller-libvirt keeps virtual machines of libvirt as they are declared, in both APIs.
package main

import (
	"github.com/millwright-dev/millwright/providers/libvirt/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
