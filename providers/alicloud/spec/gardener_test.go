package spec_test

import (
	"maps"
	"testing"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

const class = `{"apiVersion":"mcm.gardener.cloud/v1alpha1","imageID":"m-1","instanceType":"ecs.g7.large","region":"eu-central-1","zoneID":"eu-central-1a","securityGroupID":"sg-1",` +
	`"vSwitchID":"vsw-1","systemDisk":{"category":"cloud_essd","size":50},"dataDisks":[{"name":"d1","category":"cloud_essd","size":20,"encrypted":true}],` +
	`"instanceChargeType":"PostPaid","internetChargeType":"PayByTraffic","internetMaxBandwidthIn":5,"internetMaxBandwidthOut":0,"spotStrategy":"NoSpot","IoOptimized":"optimized",` +
	`"keyPairName":"ops","tags":{"kubernetes.io/cluster/shoot--a--b":"1","kubernetes.io/role/worker/shoot--a--b":"1","team":"blue"}}`

func TestSpecsOfClasses(t *testing.T) {
	for _, r := range []struct{ reason, patch, path string }{
		{"the usual", `{}`, ""},
		{"tags of the owner may be missing: the name of the cluster replaces them", `{"tags":null}`, ""},
		{"an unknown field, which the original ignores", `{"unknown":1}`, ""},
		{"no zone: that of the vSwitch", `{"zoneID":null}`, ""},
		{"no key pair", `{"keyPairName":null}`, ""},
		{"no disk: that of the image", `{"systemDisk":null,"dataDisks":null}`, ""},
		{"an own address", `{"privateIPAddress":"10.0.0.7"}`, ""},
		{"no image", `{"imageID":""}`, "imageID"},
		{"no type", `{"instanceType":""}`, "instanceType"},
		{"no region", `{"region":null}`, "region"},
		{"no security group", `{"securityGroupID":""}`, "securityGroupID"},
		{"no vSwitch", `{"vSwitchID":""}`, "vSwitchID"},
		{"another way to pay", `{"instanceChargeType":"Later"}`, "instanceChargeType"},
		{"another way to pay for traffic", `{"internetChargeType":"Free"}`, "internetChargeType"},
		{"another spot strategy", `{"spotStrategy":"Cheap"}`, "spotStrategy"},
		{"another optimization", `{"IoOptimized":"yes"}`, "IoOptimized"},
		{"no address", `{"privateIPAddress":"10.0.0"}`, "privateIPAddress"},
		{"too much traffic", `{"internetMaxBandwidthOut":101}`, "internetMaxBandwidthOut"},
		{"less than no traffic", `{"internetMaxBandwidthIn":-1}`, "internetMaxBandwidthIn"},
		{"a system disk of less than nothing", `{"systemDisk":{"size":-1}}`, "systemDisk.size"},
		{"a data disk that is too large", `{"dataDisks":[{"size":1000000}]}`, "dataDisks[0].size"},
		{"too many disks", `{"dataDisks":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]}`, "dataDisks"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, err := spec.DecodeProviderSpec(admissiontest.Patched(t, class, r.patch))
			names(t, err, r.path)
		})
	}
}

func TestOwnershipTags(t *testing.T) {
	s, err := spec.DecodeProviderSpec([]byte(class))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"kubernetes.io/cluster/shoot--a--b": "1", "kubernetes.io/role/worker/shoot--a--b": "1"}
	if got := s.OwnershipTags(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for strategy, spot := range map[string]bool{"": false, spec.NoSpot: false, spec.SpotAsPriceGo: true, spec.SpotWithPriceLimit: true} {
		if s.SpotStrategy = strategy; s.Spot() != spot {
			t.Errorf("%q: spot is %t", strategy, s.Spot())
		}
	}
}
