// Command cloud-aws simulates AWS: EC2, load balancers, tokens and the metadata of instances.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ec2"
)

func main() {
	command.Main("cloud-aws", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, ec2.Sample())
		return ec2.Administered{Cloud: ec2.New(clock, ec2.Options{Inventory: inventory, AcceptAny: o.AcceptAny, AcceptFilters: o.AcceptAny, Boot: o.Boot})}, err
	})
}
