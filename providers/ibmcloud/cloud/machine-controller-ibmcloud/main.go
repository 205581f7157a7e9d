// Command machine-controller-ibmcloud runs machines of machine.openshift.io on IBM Cloud VPC.
package main

import (
	"github.com/millwright-dev/millwright/providers/ibmcloud/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
