package ecs

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestSignaturesOfTheDocumentation: the examples of Alibaba Cloud's documentation for both forms of signatures.
func TestSignaturesOfTheDocumentation(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/?ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd&RegionId=cn-shanghai", nil)
	r.Host = "ecs.cn-shanghai.aliyuncs.com"
	for name, value := range map[string]string{
		"x-acs-action": "RunInstances", "x-acs-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "x-acs-date": "2023-10-26T10:22:32Z",
		"x-acs-signature-nonce": "3156853299f313e23d1673dc12e1703d", "x-acs-version": "2014-05-26",
		"Authorization": "ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version," +
			"Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0",
	} {
		r.Header.Set(name, value)
	}
	s, ok := signatureOf(r, nil, r.URL.Query())
	if !ok || s.key != "YourAccessKeyId" || !s.holds("YourAccessKeySecret") || s.holds("AnotherSecret") {
		t.Errorf("the newer form: %+v", s)
	}
	r.Header.Set("x-acs-action", "DeleteInstance")
	if s, _ := signatureOf(r, nil, r.URL.Query()); s.holds("YourAccessKeySecret") {
		t.Error("the newer form holds for another action")
	}

	values := url.Values{
		"AccessKeyId": {"testid"}, "Action": {"DescribeRegions"}, "Format": {"XML"}, "SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"},
		"SignatureNonce": {"3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf"}, "Timestamp": {"2016-02-23T12:46:24Z"}, "Version": {"2014-05-26"}, "Signature": {"OLeaidS1JvxuMvnyHOwuJ+uX5qY="},
	}
	s, ok = signatureOf(httptest.NewRequest(http.MethodGet, "/", nil), nil, values)
	if !ok || s.key != "testid" || !s.holds("testsecret") || s.holds("another") {
		t.Errorf("the older form: %+v, %s", s, oldSignature(http.MethodGet, values, "testsecret"))
	}
	if _, ok := signatureOf(httptest.NewRequest(http.MethodGet, "/", nil), nil, url.Values{"AccessKeyId": {"testid"}}); ok {
		t.Error("a request without a signature has one")
	}
}
