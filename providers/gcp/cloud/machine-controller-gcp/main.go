// Command machine-controller-gcp runs machines on Google Cloud.
package main

import (
	"github.com/millwright-dev/millwright/providers/gcp/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
