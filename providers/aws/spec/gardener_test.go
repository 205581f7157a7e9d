package spec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

const class = `{"ami":"ami-1","machineType":"m5.large","region":"eu-west-1","iam":{"name":"nodes"},"networkInterfaces":[{"subnetID":"subnet-1","securityGroupIDs":["sg-1"]}],
"blockDevices":[{"ebs":{"volumeSize":50,"volumeType":"gp3"}}],"tags":{"kubernetes.io/cluster/shoot--a--b":"1","kubernetes.io/role/node":"1"}}`

// patched is the class with one field set; null removes it.
func patched(t *testing.T, field, value string) []byte {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(class), &fields); err != nil {
		t.Fatal(err)
	}
	fields[field] = json.RawMessage(value)
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestProviderSpecsOfClasses(t *testing.T) {
	disks := func(all ...string) string { return "[" + strings.Join(all, ",") + "]" }
	disk := func(name string) string {
		return fmt.Sprintf(`{"deviceName":%q,"ebs":{"volumeSize":5,"volumeType":"gp3"}}`, name)
	}
	for _, c := range []struct{ reason, field, value, fault string }{
		{"the usual", "kind", `"AWSProviderSpec"`, ""},
		{"tags of ownership may be missing: the cluster's name stands in", "tags", `null`, ""},
		{"what the original does not know it does not mind", "unknown", `1`, ""},
		{"an image", "ami", `""`, "ami"},
		{"a region", "region", `""`, "region"},
		{"a type", "machineType", `""`, "machineType"},
		{"no profile", "iam", `{}`, "iam"},
		{"two profiles", "iam", `{"name":"n","arn":"a"}`, "iam"},
		{"a profile by its ARN", "iam", `{"arn":"a"}`, ""},
		{"no disks: those of the image", "blockDevices", `[]`, ""},
		{"one disk under any name, as ever", "blockDevices", disks(disk("/dev/anything")), ""},
		{"several disks, one of them the root", "blockDevices", disks(disk("/root"), disk("/dev/sdf"), disk("/dev/xvdba")), ""},
		{"several disks without a root", "blockDevices", disks(disk("/dev/sdf"), disk("/dev/sdg")), "blockDevices"},
		{"two of a name", "blockDevices", disks(disk("/root"), disk("/root")), "blockDevices[1].deviceName"},
		{"a name that AWS does not have", "blockDevices", disks(disk("/root"), disk("/dev/nvme1")), "blockDevices[1].deviceName"},
		{"a disk of no size", "blockDevices", `[{"ebs":{"volumeType":"gp3"}}]`, "blockDevices[0].ebs.volumeSize"},
		{"a disk of no type", "blockDevices", `[{"ebs":{"volumeSize":5}}]`, "blockDevices[0].ebs.volumeType"},
		{"io1 without operations", "blockDevices", `[{"ebs":{"volumeSize":5,"volumeType":"io1"}}]`, "blockDevices[0].ebs.iops"},
		{"no throughput", "blockDevices", `[{"ebs":{"volumeSize":5,"volumeType":"gp3","throughput":0}}]`, "blockDevices[0].ebs.throughput"},
		{"no network interface", "networkInterfaces", `[]`, "networkInterfaces"},
		{"no subnet", "networkInterfaces", `[{"securityGroupIDs":["sg-1"]}]`, "networkInterfaces[0].subnetID"},
		{"no group", "networkInterfaces", `[{"subnetID":"s"}]`, "networkInterfaces[0].securityGroupIDs"},
		{"an empty group", "networkInterfaces", `[{"subnetID":"s","securityGroupIDs":["sg-1",""]}]`, "networkInterfaces[0].securityGroupIDs"},
		{"another kind of interface", "networkInterfaces", `[{"subnetID":"s","securityGroupIDs":["sg-1"],"interfaceType":"x"}]`, "networkInterfaces[0].interfaceType"},
		{"a reservation and a preference", "capacityReservation", `{"capacityReservationPreference":"open","capacityReservationId":"cr-1"}`, "capacityReservation.capacityReservationPreference"},
		{"a reservation and a group", "capacityReservation", `{"capacityReservationId":"cr-1","capacityReservationResourceGroupArn":"a"}`, "capacityReservation.capacityReservationResourceGroupArn"},
		{"a market that there is not", "instanceMarketOptions", `{"marketType":"bazaar"}`, "instanceMarketOptions.marketType"},
		{"a market without a name", "instanceMarketOptions", `{"marketType":""}`, "instanceMarketOptions.marketType"},
		{"a market that is younger than the others", "instanceMarketOptions", `{"marketType":"interruptible-capacity-reservation"}`, ""},
		{"a device before the first", "networkInterfaces", `[{"subnetID":"s","securityGroupIDs":["sg-1"],"deviceIndex":-1}]`, "networkInterfaces[0].deviceIndex"},
		{"a card before the first", "networkInterfaces", `[{"subnetID":"s","securityGroupIDs":["sg-1"],"networkCardIndex":-1}]`, "networkInterfaces[0].networkCardIndex"},
		{"a hop too many", "instanceMetadataOptions", `{"httpPutResponseHopLimit":65}`, "instanceMetadataOptions.httpPutResponseHopLimit"},
		{"tokens that there are not", "instanceMetadataOptions", `{"httpTokens":"maybe"}`, "instanceMetadataOptions.httpTokens"},
		{"threads without cores", "cpuOptions", `{"threadsPerCore":2}`, "cpuOptions.coreCount"},
		{"cores without threads, which ended the original", "cpuOptions", `{"coreCount":2}`, "cpuOptions.threadsPerCore"},
		{"no options of CPUs", "cpuOptions", `{}`, ""},
		{"encrypted memory alone", "cpuOptions", `{"amdSevSnp":"enabled"}`, ""},
		{"encrypted memory in another word", "cpuOptions", `{"amdSevSnp":""}`, "cpuOptions.amdSevSnp"},
		{"three threads", "cpuOptions", `{"coreCount":2,"threadsPerCore":3}`, "cpuOptions.threadsPerCore"},
		{"a tenancy that there is not", "placement", `{"tenancy":"mine"}`, "placement.tenancy"},
		{"a tenancy without a name", "placement", `{"tenancy":""}`, "placement.tenancy"},
		{"an affinity without a name", "placement", `{"affinity":""}`, "placement.affinity"},
		{"a host of no tenancy", "placement", `{"hostId":"h-1"}`, "placement.hostId"},
		{"a host", "placement", `{"hostId":"h-1","tenancy":"host","affinity":"host"}`, ""},
		{"a partition before the first", "placement", `{"partitionNumber":0}`, "placement.partitionNumber"},
		{"a number where text belongs", "keyName", `7`, ""},
		{"a list where a text belongs", "ami", `[]`, "ami"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := spec.DecodeProviderSpec(patched(t, c.field, c.value))
			switch {
			case c.fault == "" && err != nil:
				t.Errorf("%s: %v", c.reason, err)
			case c.fault != "" && (provider.KindOf(err) != provider.Invalid && err != nil || err == nil || !strings.Contains(err.Error(), c.fault+": ")):
				t.Errorf("%s: %v, want a fault at %s", c.reason, err, c.fault)
			}
		})
	}
}

func TestWhoseInstancesAre(t *testing.T) {
	s, err := spec.DecodeProviderSpec([]byte(class))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Whose(); len(got) != 2 || got[0] != "kubernetes.io/cluster/shoot--a--b" || got[1] != "kubernetes.io/role/node" {
		t.Errorf("keys %v", got)
	}
}

func TestMarkets(t *testing.T) {
	for patch, want := range map[[2]string]string{
		{"kind", `"x"`}: "", {"spotPrice", `""`}: "spot", {"instanceMarketOptions", `{"marketType":"spot"}`}: "spot",
		{"instanceMarketOptions", `{"marketType":"capacity-block"}`}: "capacity-block", {"capacityReservation", `{"capacityReservationId":"cr-1","isMLCapacityBlock":true}`}: "capacity-block",
	} {
		s, err := spec.DecodeProviderSpec(patched(t, patch[0], patch[1]))
		if err != nil || s.MarketType() != want {
			t.Errorf("%v: %q, error %v; want %q", patch, s.MarketType(), err, want)
		}
	}
}

// Decoding ends for any input, and returns Invalid or no error.
func TestWhateverAClassSays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(r, &spec.ProviderSpec{}, texts...))
		if err != nil {
			r.Fatal(err)
		}
		if _, err := spec.DecodeProviderSpec(raw); err != nil && !invalid(err) {
			r.Errorf("%s: %v", raw, err)
		}
	})
}

// invalid reports whether an error, or each of those joined in it, is of that kind.
func invalid(err error) bool {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range all.Unwrap() {
			if !invalid(one) {
				return false
			}
		}
		return true
	}
	return provider.KindOf(err) == provider.Invalid
}

func TestConfigsThatInstancesAreMadeOf(t *testing.T) {
	const usual = `{"ami":{"id":"ami-1"},"instanceType":"m5.large",`
	for _, c := range []struct{ reason, raw, fault string }{
		{"an image by filters is older than admission", `{"ami":{"filters":[{"name":"name","values":["x"]}]},"instanceType":"m5.large"}`, ""},
		{"secrets and region may be defaults", `{"ami":{"id":"ami-1"},"instanceType":"m5.large"}`, ""},
		{"no image", `{"ami":{"arn":"a"},"instanceType":"m5.large"}`, "ami"},
		{"no type", `{"ami":{"id":"ami-1"}}`, "instanceType"},
		{"two disks without a name", `{"ami":{"id":"ami-1"},"instanceType":"m5.large","blockDevices":[{"ebs":{}},{"ebs":{}}]}`, "blockDevices[1].deviceName"},
		{"what the original does not use: a load balancer of another type", usual + `"loadBalancers":[{"name":"x","type":"application"}]}`, ""},
		{"a throughput below the least", usual + `"blockDevices":[{"ebs":{"volumeType":"gp3","throughputMib":100}}]}`, ""},
		{"a throughput of another type of disk", usual + `"blockDevices":[{"ebs":{"volumeType":"gp2","throughputMib":200}}]}`, ""},
		{"options of spot instances beside another market", usual + `"marketType":"OnDemand","spotMarketOptions":{}}`, ""},
		{"a reservation beside a spot instance", usual + `"capacityReservationId":"cr-0123456789abcdef0","marketType":"Spot"}`, "capacityReservationId"},
		{"a reservation beside options of spot instances", usual + `"capacityReservationId":"cr-0123456789abcdef0","marketType":"OnDemand","spotMarketOptions":{}}`, "capacityReservationId"},
		{"a reservation in another form", usual + `"capacityReservationId":"cr-1"}`, "capacityReservationId"},
		{"a capacity block that is not reserved", usual + `"marketType":"CapacityBlock"}`, "marketType"},
		{"a capacity block and options of spot instances", usual + `"marketType":"CapacityBlock","capacityReservationId":"cr-0123456789abcdef0","spotMarketOptions":{}}`, "marketType"},
		{"another market", usual + `"marketType":"bazaar"}`, "marketType"},
		{"empty options of CPUs", usual + `"cpuOptions":{}}`, ""},
		{"confidential computing that there is not", usual + `"cpuOptions":{"confidentialCompute":"x"}}`, ""},
		{"authentication that there is not", usual + `"metadataServiceOptions":{"authentication":"x"}}`, ""},
		{"a partition of no group", usual + `"placementGroupPartition":9}`, ""},
		{"another type of network interface", usual + `"networkInterfaceType":"efa"}`, "networkInterfaceType"},
		{"another tenancy", usual + `"placement":{"tenancy":"mine"}}`, "placement.tenancy"},
		{"a host in another tenancy, which EC2 refuses", usual + `"placement":{"host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"x"}}}}`, ""},
		{"a host without affinity, which ended the original", usual + `"placement":{"tenancy":"host","host":{}}}`, "placement.host.affinity"},
		{"another affinity", usual + `"placement":{"tenancy":"host","host":{"affinity":"host"}}}`, "placement.host.affinity"},
		{"a host of the user that is not named", usual + `"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{}}}}`, "placement.host.dedicatedHost.id"},
		{"a host that is allocated", usual + `"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"allocationStrategy":"Dynamic"}}}}`, ""},
		{"another strategy, with a host", usual + `"placement":{"tenancy":"host","host":{"affinity":"DedicatedHost","dedicatedHost":{"id":"h-01234567","allocationStrategy":"Later"}}}}`, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := spec.DecodeConfig([]byte(c.raw))
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault+": ") {
				t.Errorf("%s: %v, want a fault at %q", c.reason, err, c.fault)
			}
		})
	}
}

// A refused spec still has its region: its instances may exist, and are removed.
func TestRegionsOfRefusedSpecs(t *testing.T) {
	for raw, want := range map[string]string{
		`{"region":"eu-west-1","machineType":[],"ami":7}`: "eu-west-1", `{"region":7}`: "7", `{"region":{}}`: "", `{`: "", `null`: "",
	} {
		if got := spec.RegionOf(provider.Gardener, []byte(raw)); got != want {
			t.Errorf("%s: region %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		`{"placement":{"region":"eu-west-1","tenancy":[]},"ami":"x"}`: "eu-west-1", `{"region":"eu-west-1"}`: "", `{"placement":"x"}`: "",
	} {
		t.Run(raw, func(t *testing.T) {
			if got := spec.RegionOf(provider.OpenShift, []byte(raw)); got != want {
				t.Errorf("%s: region %q, want %q", raw, got, want)
			}
		})
	}
}
