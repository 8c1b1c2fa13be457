// A text to try the editor with; it has what the offline model knows to mend.

export const SAMPLE = `# 项目周报

本周我们对新的检索模块进行了测试,其实效果非常非常好
使用Python写了3个脚本，用来对比不同的参数。  结果见附录

## 风险

- 由于数据格式不统一的原因，导入需要人工检查
- 在这种情况下，进度可能会推迟一周

下周计划：完成文档，并对界面进行优化

We are very happy with the the new layout.
`;
