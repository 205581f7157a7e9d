package kubemark_test

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

func FuzzOpen(f *testing.F) {
	p, err := kubemark.New(kubemark.Config{})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		`{` + openShiftType + `,"numCores":4,"memoryCapacity":"16Gi","labels":{"a":"b"},"taints":[{"key":"k","effect":"NoSchedule"}],"createLatency":"90s","zones":["a","b"],"createFailureRate":0.5,"quota":3,"callsPerSecond":1e300}`,
		`{"numCores":"1e999999999"}`, `{"memoryCapacity":"999999999999999999999E"}`, `{"createLatency":9223372036854775807}`, `{"maxPods":-1,"gpus":9e18}`,
		`{"resources":{"hugepages-2Mi":"1Gi","ephemeral-storage":"0.5","example.com/x":"1e3","nvidia.com/gpu":0},"memoryCapacity":"1Gi"}`, `{"resources":{"hugepages-9e99":null}}`,
		``, `null`, `[]`, `"x"`, `{"labels":{"a":[[[[1]]]]}}`, `{"readLag":"-1s"}`, `{"taints":[{},{}],"zones":["a","a"]}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, spec []byte, openshift bool) {
		class := provider.Class{API: provider.Gardener, Cluster: "c", Spec: spec}
		if openshift {
			class.API = provider.OpenShift
		}
		at := time.Now()
		s, err := p.Open(t.Context(), class)
		if err != nil {
			if provider.KindOf(err) != provider.Invalid || len(err.Error()) > 64<<10+10*len(spec) {
				t.Errorf("%s: %.200v", provider.KindOf(err), err)
			}
			return
		}
		ref := provider.Ref{UID: "u", Name: "m", Namespace: "n"}
		i, err := s.Create(t.Context(), ref, provider.Want{})
		if err == nil {
			if _, err := s.Delete(t.Context(), ref, []provider.Instance{i}); err != nil && provider.KindOf(err) == provider.Invalid {
				t.Errorf("what was made cannot be removed: %v", err)
			}
		}
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
