// Command machine-controller-aws runs the machines of both APIs on AWS.
package main

import (
	"github.com/millwright-dev/millwright/providers/aws/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
