package metal3

import (
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Administered is a cluster with its administration: tokens can be revoked and issued, and hosts planted.
type Administered struct{ *Cloud }

var (
	_ double.Lender  = Administered{}
	_ double.Planter = Administered{}
)

// PlantLike implements [double.Planter].
func (c Administered) PlantLike(like string, rename func(string) string) error {
	var found object
	c.While(func(time.Time) {
		for _, o := range c.consumed() {
			if id(o) == like {
				found = o.Clone()
			}
		}
	})
	if found == nil {
		return errNoHost
	}
	consumer, _ := found.At("spec", "consumerRef").(map[string]any)
	consumer["name"] = rename(object(consumer).Text("name"))
	c.Plant(Planted{
		Name: rename(found.Name()), Namespace: found.Namespace(), Consumer: consumer,
		Labels: double.Renamed(found.Texts("metadata", "labels"), rename), Annotations: double.Renamed(found.Texts("metadata", "annotations"), rename),
	})
	return nil
}
