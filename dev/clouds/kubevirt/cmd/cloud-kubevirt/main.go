// Command cloud-kubevirt simulates the cluster of KubeVirt.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubevirt"
)

func main() {
	command.Main("cloud-kubevirt", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, kubevirt.Sample())
		return kubevirt.Administered{Cloud: kubevirt.New(clock, kubevirt.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, err
	})
}
