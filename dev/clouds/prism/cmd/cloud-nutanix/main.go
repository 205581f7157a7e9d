// Command cloud-nutanix simulates Prism Central of Nutanix.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/prism"
)

func main() {
	command.Main("cloud-nutanix", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, prism.Sample())
		return prism.Administered{Cloud: prism.New(clock, prism.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, err
	})
}
