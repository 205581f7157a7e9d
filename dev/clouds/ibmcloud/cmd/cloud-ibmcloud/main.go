// Command cloud-ibmcloud simulates IBM Cloud: VPC in one region, IAM, resource groups and tags.
package main

import (
	"github.com/millwright-dev/millwright/dev/clouds/command"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/ibmcloud"
)

func main() {
	command.Main("cloud-ibmcloud", func(clock *double.Clock, o command.Options) (double.Cloud, error) {
		inventory, err := command.Inventory(o, ibmcloud.Sample())
		return ibmcloud.Administered{Cloud: ibmcloud.New(clock, ibmcloud.Options{Inventory: inventory, AcceptAny: o.AcceptAny, Boot: o.Boot})}, err
	})
}
