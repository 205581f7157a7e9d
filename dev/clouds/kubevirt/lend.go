package kubevirt

import (
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cluster with its administration: tokens can be revoked and issued, and virtual machines
// planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(id string, rename func(string) string) error {
	var machines []object
	c.While(func(time.Time) { machines = c.machines() })
	for _, o := range machines {
		if o.Name() == id {
			c.Plant(Planted{
				Name: rename(o.Name()), Namespace: o.Namespace(), Zone: zoneOf(o),
				Labels: double.Renamed(o.Texts("metadata", "labels"), rename), Annotations: double.Renamed(o.Texts("metadata", "annotations"), rename),
			})
			return nil
		}
	}
	return errNoMachine
}
