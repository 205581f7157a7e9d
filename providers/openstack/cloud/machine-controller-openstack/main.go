// Command machine-controller-openstack keeps machines on OpenStack.
package main

import (
	"github.com/millwright-dev/millwright/providers/openstack/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
