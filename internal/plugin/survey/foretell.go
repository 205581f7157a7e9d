package survey

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/engine/forecast"
	"github.com/millwright-dev/millwright/internal/plugin/budgets"
	"github.com/millwright-dev/millwright/internal/plugin/project"
)

// Patience is the default limit for the time of a simulation. After a longer time, a user may think that the program
// hangs.
const Patience = 5 * time.Second

// Foretell reads the objects that the changes affect, and predicts the effects. After patience, it omits the
// remaining steps. Foretell fails if machines or sets cannot be read, or if ctx ends.
func Foretell(ctx context.Context, c Clusters, now time.Time, trials []Trial, patience time.Duration) (forecast.Report, error) {
	report := forecast.Report{Plans: []forecast.Plan{}, Changes: []forecast.Changed{}}
	var about []forecast.Object
	var changes []project.Change
	for _, t := range trials {
		changes = append(changes, t.Change)
		about = append(about, project.ObjectOf(t.About()))
		if t.Note != "" {
			report.Notes = append(report.Notes, t.Note)
		}
		report.Notes = append(report.Notes, t.Warnings...)
	}
	report.Notes = append(report.Notes, classless(ctx, c.Control, changes)...)
	read, err := All(ctx, c, about)
	if err != nil {
		return report, err
	}
	read.Limits = budgets.Limits(now, read.limits)
	report.Unknown = append(report.Unknown, read.Unknown...)
	for _, change := range changes {
		report.Changes = append(report.Changes, project.Changed(change, read.Stored))
		report.Notes = append(report.Notes, append(wild(change), controlled(change)...)...)
	}
	end := time.Now().Add(patience)
	report.Plans = append(report.Plans, project.Plans(now, read.Stored, changes, read.Durations, func() bool { return ctx.Err() != nil || time.Now().After(end) })...)
	return report, ctx.Err()
}

// A change may be a typing error if it multiplies the replicas at least by grownTimes and adds at least grownBy
// machines.
const grownTimes, grownBy = 10, 50

// wild returns a warning about a change that may be a typing error in the number of replicas.
func wild(c project.Change) []string {
	was, _ := project.Replicas(c.Before)
	is, ok := project.Replicas(c.After)
	if !ok || c.Before == nil || is < was*grownTimes || is-was < grownBy {
		return nil
	}
	times := ""
	if was > 0 {
		times = fmt.Sprintf(", %d times as many", is/was)
	}
	return []string{fmt.Sprintf("%s changes from %d to %d machines%s: check the number", project.ObjectOf(c.After), was, is, times)}
}

// controlled returns a warning about the change of a set whose owner will revert the change.
func controlled(c project.Change) []string {
	o := c.About()
	ref := metav1.GetControllerOfNoCopy(o)
	if id := project.ObjectOf(o); ref == nil || id.Kind != "MachineSet" {
		return nil
	}
	return []string{fmt.Sprintf("%s %s controls the size of this set: change that object instead. The set may act before its owner reverts the change", ref.Kind, ref.Name)}
}

// classless returns warnings about changed objects whose class does not exist, and is not created by the same change.
func classless(ctx context.Context, c client.Client, changes []project.Change) (out []string) {
	made := map[client.ObjectKey]bool{}
	for _, change := range changes {
		if change.After != nil && project.ObjectOf(change.After).Kind == classKind {
			made[client.ObjectKeyFromObject(change.After)] = true
		}
	}
	for _, change := range changes {
		if change.After == nil {
			continue
		}
		id, class := project.ObjectOf(change.After), apis.Said(change.After).Class
		if class == "" || change.Before != nil && apis.Said(change.Before).Class == class {
			continue
		}
		key := client.ObjectKey{Namespace: id.Namespace, Name: class}
		o := apis.Named(id.API, id.Namespace, classKind+"/"+class)
		if o != nil && !made[key] && apierrors.IsNotFound(c.Get(ctx, key, o)) {
			out = append(out, fmt.Sprintf("%s names the class %s, which does not exist in namespace %s: machines get no instance until it exists", id, class, id.Namespace))
		}
	}
	return out
}
