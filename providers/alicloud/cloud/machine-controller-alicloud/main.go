// Command machine-controller-alicloud runs the machines of both APIs on Alibaba Cloud.
package main

import (
	"github.com/millwright-dev/millwright/providers/alicloud/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
