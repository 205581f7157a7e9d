// Command machine-controller-gcp keeps machines on Google Cloud as they are declared.
package main

import (
	"github.com/millwright-dev/millwright/providers/gcp/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
