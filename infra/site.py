"""The page and all agents at one address: CloudFront before a private bucket, and before each function URL under `/agents/<name>/`.

Both kinds of origin take requests from this distribution alone (origin access control). Page and agents are of one origin, so no CORS is
needed. A POST must bring `x-amz-content-sha256`, the hex SHA-256 of its body: CloudFront signs that instead of reading the body, and
Lambda takes no unsigned one. The page and `agents invoke` send it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_route53 as route53
from aws_cdk import aws_route53_targets as targets
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.acknowledging import NAG, accept
from infra.deployment import ROOT, Deployment
from infra.listing import PREFIX
from infra.page_files import PageFiles

PAGE = ROOT / "functions" / "web" / "page"
REQUEST_CODE = Path(__file__).parent / "edge" / "agent_request.js"
PAGE_REQUEST_CODE = REQUEST_CODE.with_name("page_request.js")
READ_TIMEOUT = cdk.Duration.seconds(120)
"""Longest silence of a function: the default quota's maximum. A stream sends a comment every ten seconds."""
# CloudFront keeps errors for 10 s, whatever the cache policy says, and for everybody: one caller's 404 would be another's
UNCACHED_ERRORS = (400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504)
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]+)"')


def content_security_policy(page: str) -> str:
    """The policy in the page's own HTML, narrowed: it may talk to its own origin alone, and be in nobody's frame."""
    found = _POLICY.search(page)
    if found is None:
        raise ValueError("the page has no Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in found[1].split(";") if rule.strip())
    return "; ".join(f"{name} {value}" for name, value in {**rules, "connect-src": "'self'", "frame-ancestors": "'none'"}.items())


class Site(Construct):
    """`url` ends in a slash; an agent is at `<url>agents/<name>/`."""

    def __init__(self, scope: Construct, id_: str, deployment: Deployment, urls: Mapping[str, lambda_.FunctionUrl]) -> None:
        super().__init__(scope, id_)
        self._deployment = deployment
        self.bucket = self._bucket()
        self.distribution = self._distribution(urls)
        self.url = f"https://{deployment.domain or self.distribution.distribution_domain_name}/"
        PageFiles(self, "Files", deployment, PAGE, self.bucket)
        if deployment.hosted_zone:
            self._records()

    def _bucket(self) -> s3.Bucket:
        """The page's files and nothing else, so it goes with the stack."""
        bucket = s3.Bucket(
            self,
            "Page",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        accept(bucket, f"{NAG}S1", "It holds the page, which everybody may read, and is read by CloudFront alone.")
        return bucket

    def _distribution(self, urls: Mapping[str, lambda_.FunctionUrl]) -> cloudfront.Distribution:
        wanted = self._deployment
        certificate = acm.Certificate.from_certificate_arn(self, "Certificate", wanted.certificate) if wanted.certificate else None
        distribution = cloudfront.Distribution(
            self,
            "Distribution",
            comment=f"{wanted.stack}: page and agents",
            default_behavior=self._page(),
            additional_behaviors=self._agents(urls),
            error_responses=[cloudfront.ErrorResponse(http_status=status, ttl=cdk.Duration.seconds(0)) for status in UNCACHED_ERRORS],
            http_version=cloudfront.HttpVersion.HTTP2_AND_3,
            domain_names=[wanted.domain] if wanted.domain else None,
            certificate=certificate,
            minimum_protocol_version=cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021 if certificate else None,
        )
        accept(distribution, f"{NAG}CFR1", "Whom an agent serves is decided by auth, not by country.")
        accept(distribution, f"{NAG}CFR2", "A web ACL costs by the month; auth jwt refuses strangers, reserved_concurrency caps them.")
        accept(
            distribution,
            f"{NAG}CFR3",
            "Standard logging is for whoever needs each visit; what agents do is in their functions' logs.",
        )
        if certificate is None:
            accept(distribution, f"{NAG}CFR4", "CloudFront's own certificate allows no other choice; domain and certificate do.")
        return distribution

    def _page(self) -> cloudfront.BehaviorOptions:
        html = (PAGE / "index.html").read_text(encoding="utf-8")
        return cloudfront.BehaviorOptions(
            origin=origins.S3BucketOrigin.with_origin_access_control(
                self.bucket,
                origin_access_control=cloudfront.S3OriginAccessControl(
                    self, "PageAccess", signing=cloudfront.Signing.SIGV4_ALWAYS, origin_access_control_name=self._name("page")
                ),
            ),
            viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
            # the files say no-cache: a deploy shows at the next reload, and no module meets one of another version
            cache_policy=cloudfront.CachePolicy.CACHING_OPTIMIZED,
            response_headers_policy=self._headers("PageHeaders", content_security_policy(html)),
            function_associations=[self._on_request("PageRequest", PAGE_REQUEST_CODE, "The page, where no file is named.")],
        )

    def _agents(self, urls: Mapping[str, lambda_.FunctionUrl]) -> dict[str, cloudfront.BehaviorOptions]:
        access = cloudfront.FunctionUrlOriginAccessControl(
            self, "AgentAccess", signing=cloudfront.Signing.SIGV4_ALWAYS, origin_access_control_name=self._name("agents")
        )
        headers = self._headers("AgentHeaders")
        request = self._on_request("AgentRequest", REQUEST_CODE, "An agent's path and token as its app knows them.")
        return {
            f"{PREFIX}{name}/*": cloudfront.BehaviorOptions(
                origin=origins.FunctionUrlOrigin.with_origin_access_control(url, origin_access_control=access, read_timeout=READ_TIMEOUT),
                viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
                allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,
                cache_policy=cloudfront.CachePolicy.CACHING_DISABLED,
                # a function URL knows itself by its own Host
                origin_request_policy=cloudfront.OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
                compress=False,  # a compressor would hold events back
                response_headers_policy=headers,
                function_associations=[request],
            )
            for name, url in urls.items()
        }

    def _on_request(self, id_: str, code: Path, comment: str) -> cloudfront.FunctionAssociation:
        """A function on a viewer's requests."""
        source, runtime = cloudfront.FunctionCode.from_file(file_path=str(code)), cloudfront.FunctionRuntime.JS_2_0
        function = cloudfront.Function(self, id_, code=source, runtime=runtime, comment=comment)
        return cloudfront.FunctionAssociation(function=function, event_type=cloudfront.FunctionEventType.VIEWER_REQUEST)

    def _headers(self, id_: str, policy: str | None = None) -> cloudfront.ResponseHeadersPolicy:
        """`policy` for what a browser shows. An agent's `/docs` loads Swagger from elsewhere and has none."""
        csp = cloudfront.ResponseHeadersContentSecurityPolicy(content_security_policy=policy, override=True) if policy else None
        return cloudfront.ResponseHeadersPolicy(
            self,
            id_,
            response_headers_policy_name=self._name(id_),
            security_headers_behavior=cloudfront.ResponseSecurityHeadersBehavior(
                content_security_policy=csp,
                content_type_options=cloudfront.ResponseHeadersContentTypeOptions(override=True),
                frame_options=cloudfront.ResponseHeadersFrameOptions(frame_option=cloudfront.HeadersFrameOption.DENY, override=True),
                referrer_policy=cloudfront.ResponseHeadersReferrerPolicy(
                    referrer_policy=cloudfront.HeadersReferrerPolicy.NO_REFERRER, override=True
                ),
                strict_transport_security=cloudfront.ResponseHeadersStrictTransportSecurity(
                    access_control_max_age=cdk.Duration.days(365), include_subdomains=False, override=True
                ),
            ),
        )

    def _name(self, what: str) -> str:
        """CloudFront's names are the account's, not the region's: the same stack in two regions needs two."""
        return f"{cdk.Aws.REGION}-{cdk.Names.unique_resource_name(self, max_length=30)}-{what}"

    def _records(self) -> None:
        zone = route53.HostedZone.from_hosted_zone_id(self, "Zone", self._deployment.hosted_zone)
        target = route53.RecordTarget.from_alias(targets.CloudFrontTarget(self.distribution))
        # with the dot at its end the name is whole, and nobody asks for the zone's
        for record in (route53.ARecord, route53.AaaaRecord):
            record(self, record.__name__, zone=zone, record_name=f"{self._deployment.domain}.", target=target)
