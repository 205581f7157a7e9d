package capacity

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
)

func TestAnnotate(t *testing.T) {
	size := provider.Size{VCPU: 4, MemoryMiB: 16384, Architecture: "arm64"}
	with := func(pairs ...string) map[string]string {
		out := map[string]string{VCPUAnnotation: "4", MemoryAnnotation: "16384", GPUAnnotation: "0"}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	const arch = "kubernetes.io/arch=arm64"
	own := func(pairs ...string) string {
		out := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ownArch := own(LabelsAnnotation, arch)
	rich := provider.Size{
		VCPU: 4, MemoryMiB: 16384, GPU: 2, GPUResource: "nvidia.com/gpu", EphemeralStorageMiB: 102400, Architecture: "arm64",
		Labels: map[string]string{"tier": "x", "zone": "a", "kubernetes.io/arch": "wrong"},
		Taints: []corev1.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}, {Key: "new", Effect: "NoExecute"}},
	}
	ownRich := own(LabelsAnnotation, arch+",tier=x,zone=a", TaintsAnnotation, "gpu=yes:NoSchedule,new:NoExecute",
		DiskAnnotation, "102400Mi", GPUTypeAnnotation, "nvidia.com/gpu", GPUCountAnnotation, "2")
	richly := with(GPUAnnotation, "2", LabelsAnnotation, arch+",tier=x,zone=a", TaintsAnnotation, "gpu=yes:NoSchedule,new:NoExecute",
		DiskAnnotation, "102400Mi", GPUTypeAnnotation, "nvidia.com/gpu", GPUCountAnnotation, "2", OwnAnnotation, ownRich)
	tests := map[string]struct {
		reason string
		have   map[string]string
		size   provider.Size
		want   map[string]string
	}{
		"none yet": {
			"all written, no GPU is 0", nil, size, with(LabelsAnnotation, arch, OwnAnnotation, ownArch),
		},
		"architecture unknown": {
			"nothing is said about it", nil, provider.Size{VCPU: 4, MemoryMiB: 16384}, with(),
		},
		"stale numbers": {
			"the template changed", map[string]string{VCPUAnnotation: "2", GPUAnnotation: "1"}, size, with(LabelsAnnotation, arch, OwnAnnotation, ownArch),
		},
		"user's labels": {
			"kept, and sorted with ours",
			map[string]string{LabelsAnnotation: "zone=b, app=x"},
			size,
			with(LabelsAnnotation, "app=x,"+arch+",zone=b", OwnAnnotation, ownArch),
		},
		"user's architecture": {
			"wins, and the list stays as it was written",
			map[string]string{LabelsAnnotation: "zone=b,kubernetes.io/arch=amd64,app=x"},
			size,
			with(LabelsAnnotation, "zone=b,kubernetes.io/arch=amd64,app=x"),
		},
		"our architecture of an earlier type": {
			"replaced",
			map[string]string{LabelsAnnotation: "app=x,kubernetes.io/arch=amd64", OwnAnnotation: own(LabelsAnnotation, "kubernetes.io/arch=amd64")},
			size,
			with(LabelsAnnotation, "app=x,"+arch, OwnAnnotation, ownArch),
		},
		"user took over": {
			"what was ours was changed by the user",
			map[string]string{LabelsAnnotation: "kubernetes.io/arch=s390x", OwnAnnotation: own(LabelsAnnotation, "kubernetes.io/arch=amd64")},
			size,
			with(LabelsAnnotation, "kubernetes.io/arch=s390x"),
		},
		"other annotations": {
			"left alone", map[string]string{"machine.openshift.io/maxPods": "50"}, provider.Size{VCPU: 4, MemoryMiB: 16384, MaxPods: 250}, with("machine.openshift.io/maxPods", "50"),
		},
		"all there is": {
			"written, and the architecture is the one that is known for sure", nil, rich, richly,
		},
		"an earlier version's": {
			"is known by the annotation that it had, which goes",
			map[string]string{LabelsAnnotation: "app=x,kubernetes.io/arch=amd64", "millwright.dev/capacity-labels": "kubernetes.io/arch=amd64"},
			size,
			with(LabelsAnnotation, "app=x,"+arch, OwnAnnotation, ownArch),
		},
		"both": {
			"the newer one counts",
			map[string]string{LabelsAnnotation: arch, OwnAnnotation: ownArch, "millwright.dev/capacity-labels": "app=x"},
			size,
			with(LabelsAnnotation, arch, OwnAnnotation, ownArch),
		},
		"no accelerators and no disk any more": {
			"ours go", richly, size, with(LabelsAnnotation, arch, OwnAnnotation, ownArch),
		},
		"nothing of ours any more": {
			"no list stays empty", richly, provider.Size{VCPU: 4, MemoryMiB: 16384}, with(),
		},
		"user's values": {
			"win, one by one",
			map[string]string{DiskAnnotation: "50Gi", GPUTypeAnnotation: "amd.com/gpu", LabelsAnnotation: "zone=b", TaintsAnnotation: "gpu=no:NoSchedule,gpu:NoExecute"},
			rich,
			with(GPUAnnotation, "2", LabelsAnnotation, arch+",tier=x,zone=b", TaintsAnnotation, "gpu:NoExecute,gpu=no:NoSchedule,new:NoExecute",
				DiskAnnotation, "50Gi", GPUTypeAnnotation, "amd.com/gpu", GPUCountAnnotation, "2",
				OwnAnnotation, own(LabelsAnnotation, arch+",tier=x", TaintsAnnotation, "new:NoExecute", GPUCountAnnotation, "2")),
		},
		"user edited ours": {
			"it is the user's from then on", with(DiskAnnotation, "1Gi", OwnAnnotation, own(DiskAnnotation, "102400Mi")),
			provider.Size{VCPU: 4, MemoryMiB: 16384, EphemeralStorageMiB: 102400},
			with(DiskAnnotation, "1Gi"),
		},
		"user edited the note": {
			"what it said counts as the user's",
			map[string]string{LabelsAnnotation: "kubernetes.io/arch=amd64", OwnAnnotation: "{"},
			size,
			with(LabelsAnnotation, "kubernetes.io/arch=amd64"),
		},
		"accelerators": {
			"counted", nil, provider.Size{VCPU: 4, MemoryMiB: 16384, GPU: 8}, with(GPUAnnotation, "8"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, annotate(tc.have, tc.size)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What was written is not written again, and no label of the user is lost.
func TestAnnotateIsStable(t *testing.T) {
	label := rapid.StringMatching(`([a-c](=[x-z])?)|kubernetes\.io/arch=(amd64|arm64)`)
	rapid.Check(t, func(t *rapid.T) {
		list := ""
		for _, l := range rapid.SliceOfN(label, 0, 4).Draw(t, "labels") {
			list += l + ","
		}
		drawn := func(name string) provider.Size {
			return provider.Size{
				VCPU: 2, Architecture: rapid.SampledFrom([]string{"", "amd64", "arm64"}).Draw(t, name),
				Labels: rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "d"}), rapid.SampledFrom([]string{"w", "x"})).Draw(t, name+" labels"),
			}
		}
		size := drawn("size")
		once := annotate(map[string]string{LabelsAnnotation: list}, size)
		if diff := cmp.Diff(once, annotate(once, size)); diff != "" {
			t.Fatalf("flaps:\n%s", diff)
		}
		if diff := cmp.Diff(sorted(once), sorted(annotate(annotate(once, drawn("another size")), size))); diff != "" {
			t.Fatalf("another size in between leaves something behind:\n%s", diff)
		}
		now := map[string]bool{}
		for _, l := range split(once[LabelsAnnotation]) {
			now[l] = true
		}
		for _, l := range split(list) {
			if !now[l] {
				t.Fatalf("%q lost from %q: %q", l, list, once[LabelsAnnotation])
			}
		}
	})
}

// sorted has the list of labels in order: once we have been there, it stays so.
func sorted(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	list := split(out[LabelsAnnotation])
	slices.Sort(list)
	if out[LabelsAnnotation] = strings.Join(list, ","); len(list) == 0 {
		delete(out, LabelsAnnotation)
	}
	return out
}
