// Command cloud-azure simulates Azure: Resource Manager, login, Resource Graph and the metadata of instances.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/arm"
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
)

func main() {
	command.Main("cloud-azure", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, arm.Sample())
		return arm.Administered{Cloud: arm.New(clock, arm.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, err
	})
}
