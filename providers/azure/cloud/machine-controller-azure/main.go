// Command machine-controller-azure runs machines on Azure.
package main

import (
	"github.com/millwright-dev/millwright/providers/azure/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
