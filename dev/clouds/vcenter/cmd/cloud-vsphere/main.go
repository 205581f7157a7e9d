// Command cloud-vsphere plays a vCenter.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
)

func main() {
	command.Main("cloud-vsphere", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, vcenter.Sample())
		return vcenter.New(clock, vcenter.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot}), err
	})
}
