// Command cloud-metal3 simulates the cluster with Metal3's hosts.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/metal3"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

func main() {
	command.Main("cloud-metal3", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, metal3.Sample())
		return metal3.Administered{Cloud: metal3.New(clock, metal3.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Knobs: host.Knobs{Provision: o.Boot}})}, err
	})
}
