// Command machine-controller-openstack runs machines on OpenStack.
package main

import (
	"github.com/millwright-dev/millwright/providers/openstack/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
