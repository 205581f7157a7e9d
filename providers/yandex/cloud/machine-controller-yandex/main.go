// Command machine-controller-yandex runs the machines of machine.sapcloud.io on Yandex Cloud.
package main

import (
	"github.com/millwright-dev/millwright/providers/yandex/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
