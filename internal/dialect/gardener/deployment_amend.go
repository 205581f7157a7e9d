package gardener

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// wishes reads the machines that the autoscaler wants gone: "a~T,b~T". An
// entry whose time is not in RFC 3339 has none. One without any time is of an
// older autoscaler: it counts from the last change of the replicas, or from
// now.
func wishes(d *v1alpha1.MachineDeployment, now time.Time) (out []rollout.Wish) {
	text := d.Annotations[v1alpha1.AnnotationKeyTriggerDeletion]
	if text == "" {
		return nil
	}
	for entry := range strings.SplitSeq(text, ",") {
		machine, at, dated := strings.Cut(strings.TrimSpace(entry), "~")
		w := rollout.Wish{Machine: machine, At: stamp(at), Undated: !dated && machine != ""}
		if w.Undated {
			w.At = cmp.Or(stamp(d.Annotations[v1alpha1.AnnotationKeyScalerReplicaChange]), now.UTC().Truncate(time.Second))
		}
		out = append(out, w)
	}
	return out
}

// spell is the opposite of [wishes], in order.
func spell(all []rollout.Wish) string {
	var entries []string
	for _, w := range all {
		entries = append(entries, w.Machine+"~"+w.At.UTC().Format(time.RFC3339))
	}
	slices.Sort(entries)
	return strings.Join(entries, ",")
}

// RollBack gives d the template of s again, with the annotations that were
// handed to s. Those that d got since stay, and so does when the autoscaler
// last changed its replicas.
func (Deployments) RollBack(d *v1alpha1.MachineDeployment, s **v1alpha1.MachineSet, _ rollout.RollBack) {
	d.Spec.RollbackTo = nil
	if s == nil || *s == nil {
		return
	}
	t := (*s).Spec.Template.DeepCopy()
	delete(t.Labels, v1alpha1.LabelKeyMachineTemplateHash)
	d.Spec.Template = *t
	for key, value := range (*s).Annotations {
		if !staysHome(key) && key != v1alpha1.AnnotationKeyScalerReplicaChange {
			setAnnotation(d, key, value)
		}
	}
}

// ApplyMetadata writes the revision of the present template, the wishes that are left,
// and whether a set is frozen.
func (Deployments) ApplyMetadata(d *v1alpha1.MachineDeployment, sets []*v1alpha1.MachineSet, a rollout.Amend) {
	if a.Revision != 0 {
		setAnnotation(d, v1alpha1.AnnotationKeyRevision, strconv.FormatInt(a.Revision, 10))
	}
	if a.Rewish {
		dialect.SetAnnotation(d, v1alpha1.AnnotationKeyTriggerDeletion, spell(a.Wishes))
	}
	mirrored := labelledFrozen(d)
	switch cold := slices.ContainsFunc(sets, frozen); {
	case cold && !mirrored:
		d.Labels = labelled(d.Labels, v1alpha1.LabelKeyFreeze, v1alpha1.LabelValueTrue)
	case mirrored && !cold:
		delete(d.Labels, v1alpha1.LabelKeyFreeze)
	}
	// The wish to thaw has done its work once each frozen set has it. Were it
	// kept until none is frozen, a set with far too many machines would thaw
	// and freeze in turns. One that is being deleted is never told.
	untold := func(s *v1alpha1.MachineSet) bool {
		return s.DeletionTimestamp == nil && labelledFrozen(s) && !wantsThaw(s)
	}
	if !slices.ContainsFunc(sets, untold) {
		delete(d.Annotations, v1alpha1.AnnotationKeyUnfreeze)
	}
}
