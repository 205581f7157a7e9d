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

// wishes reads the machines that the autoscaler wants deleted: "a~T,b~T". An entry whose time is not in RFC
// 3339 has none. An entry without a time is from an older autoscaler: its time is that of the last change of
// the replicas, or now.
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

// spell is the inverse of [wishes], in order.
func spell(all []rollout.Wish) string {
	var entries []string
	for _, w := range all {
		entries = append(entries, w.Machine+"~"+w.At.UTC().Format(time.RFC3339))
	}
	slices.Sort(entries)
	return strings.Join(entries, ",")
}

// RollBack gives d the template of s again, with the annotations that were copied to s. Annotations that d
// got since stay, and so does the time of the autoscaler's last change of the replicas.
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

// ApplyMetadata writes the revision of the current template, the remaining wishes, and whether a set is
// frozen.
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
	// The wish to thaw is fulfilled once each frozen set has it. If it were kept until none is frozen, a set
	// with far too many machines would alternate between thawing and freezing. A set under deletion does not
	// get it.
	untold := func(s *v1alpha1.MachineSet) bool {
		return s.DeletionTimestamp == nil && labelledFrozen(s) && !wantsThaw(s)
	}
	if !slices.ContainsFunc(sets, untold) {
		delete(d.Annotations, v1alpha1.AnnotationKeyUnfreeze)
	}
}
