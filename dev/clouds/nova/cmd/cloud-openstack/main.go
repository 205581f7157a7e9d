// Command cloud-openstack simulates an OpenStack: Keystone, Nova, Neutron, Glance and Cinder.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
)

func main() {
	command.Main("cloud-openstack", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, nova.Sample())
		return nova.Administered{Cloud: nova.New(clock, nova.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, err
	})
}
