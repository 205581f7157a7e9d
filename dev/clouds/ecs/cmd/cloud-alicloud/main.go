// Command cloud-alicloud simulates Alibaba Cloud: ECS, vSwitches, resource groups and the identity of callers.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ecs"
)

func main() {
	command.Main("cloud-alicloud", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, ecs.Sample())
		return ecs.Administered{Cloud: ecs.New(clock, ecs.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, err
	})
}
