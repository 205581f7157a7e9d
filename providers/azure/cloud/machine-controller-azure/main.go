// Command machine-controller-azure keeps machines on Azure as they are declared.
package main

import (
	"github.com/millwright-dev/millwright/providers/azure/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
