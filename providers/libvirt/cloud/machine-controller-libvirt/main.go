// Command machine-controller-libvirt manages virtual machines of libvirt, in both APIs.
package main

import (
	"github.com/millwright-dev/millwright/providers/libvirt/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
