// Command machine-controller-aws keeps the machines of both APIs on AWS as they are declared.
package main

import (
	"github.com/millwright-dev/millwright/providers/aws/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
