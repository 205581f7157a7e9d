package sim

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// badImageSetting makes worlds with one deployment that rolls to a defective image, and no other trouble.
func badImageSetting(c *profile) {
	rollsOnly(rollout.Rolling)(c)
	c.percent, c.apps, c.trouble = [allFaults]int{}, 0, 5
	c.checks, c.badImages = true, true
}

// alarmMutants ignore alarms, or never end them.
func alarmMutants() []Mutation {
	return []Mutation{
		{
			Name: "a rollout goes on to what falls ill", Finds: []string{judge.AlarmStops}, Setting: badImageSetting,
			Defects: Defects{Unalarmed: true},
		},
		{
			Name: "an alarm outlasts its storm", Finds: []string{judge.Converges}, Setting: badImageSetting,
			Defects: Defects{Alarming: func(r client.Reader) client.Reader { return firstMemory{r, map[types.UID]string{}} }},
		},
	}
}

// firstMemory shows each check with the first storm that the check stored.
type firstMemory struct {
	client.Reader
	first map[types.UID]string
}

// List implements [client.Reader].
func (r firstMemory) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := r.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	var all []runtime.Object
	err := meta.EachListItem(list, func(o runtime.Object) error {
		c := o.DeepCopyObject().(client.Object)
		if len(dialect.ReadMemory(c).Storms) > 0 && r.first[c.GetUID()] == "" {
			r.first[c.GetUID()] = c.GetAnnotations()[dialect.RemediationsAnnotation]
		}
		if was := r.first[c.GetUID()]; was != "" {
			dialect.SetAnnotation(c, dialect.RemediationsAnnotation, was)
		}
		all = append(all, c)
		return nil
	})
	if err != nil {
		return err
	}
	return meta.SetList(list, all)
}
