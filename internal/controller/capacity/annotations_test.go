package capacity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
	tests := map[string]struct {
		reason string
		have   map[string]string
		size   provider.Size
		want   map[string]string
	}{
		"none yet": {
			"all written, no GPU is 0", nil, size, with(LabelsAnnotation, arch, OwnLabelsAnnotation, arch),
		},
		"architecture unknown": {
			"nothing is said about it", nil, provider.Size{VCPU: 4, MemoryMiB: 16384}, with(),
		},
		"stale numbers": {
			"the template changed", map[string]string{VCPUAnnotation: "2", GPUAnnotation: "1"}, size, with(LabelsAnnotation, arch, OwnLabelsAnnotation, arch),
		},
		"user's labels": {
			"kept, and sorted with ours",
			map[string]string{LabelsAnnotation: "zone=b, app=x"},
			size,
			with(LabelsAnnotation, "app=x,"+arch+",zone=b", OwnLabelsAnnotation, arch),
		},
		"user's architecture": {
			"wins, and the list stays as it was written",
			map[string]string{LabelsAnnotation: "zone=b,kubernetes.io/arch=amd64,app=x"},
			size,
			with(LabelsAnnotation, "zone=b,kubernetes.io/arch=amd64,app=x"),
		},
		"our architecture of an earlier type": {
			"replaced",
			map[string]string{LabelsAnnotation: "app=x,kubernetes.io/arch=amd64", OwnLabelsAnnotation: "kubernetes.io/arch=amd64"},
			size,
			with(LabelsAnnotation, "app=x,"+arch, OwnLabelsAnnotation, arch),
		},
		"user took over": {
			"what was ours was changed by the user",
			map[string]string{LabelsAnnotation: "kubernetes.io/arch=s390x", OwnLabelsAnnotation: "kubernetes.io/arch=amd64"},
			size,
			with(LabelsAnnotation, "kubernetes.io/arch=s390x"),
		},
		"other annotations": {
			"left alone", map[string]string{"machine.openshift.io/maxPods": "50"}, provider.Size{VCPU: 4, MemoryMiB: 16384, MaxPods: 250}, with("machine.openshift.io/maxPods", "50"),
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
		size := provider.Size{VCPU: 2, Architecture: rapid.SampledFrom([]string{"", "amd64", "arm64"}).Draw(t, "architecture")}
		once := annotate(map[string]string{LabelsAnnotation: list}, size)
		if diff := cmp.Diff(once, annotate(once, size)); diff != "" {
			t.Fatalf("flaps:\n%s", diff)
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
